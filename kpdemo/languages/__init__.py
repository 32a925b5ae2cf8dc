"""Languages: which one a text is in, and how its words are cut, stemmed and compared."""
