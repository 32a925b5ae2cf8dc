"""Words and senses (Jurgens et al. 2014, section 3.3): neighbourhoods, choices, and how they are shown."""
