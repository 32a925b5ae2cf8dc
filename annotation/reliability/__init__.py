"""How far raters agree, who differs, and how sure that is."""
