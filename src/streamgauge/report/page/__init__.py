"""report.html and other pages: one file each, with everything in it."""
