"""The live page: a server and a page over the folder of a run that is under way."""
