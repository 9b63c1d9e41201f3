"""Reports: one HTML file with pictures, curves and facts of a comparison, which opens offline.

`contents` says what a report shows, `fit` makes it fit a number of bytes, `page` writes the HTML.
"""
