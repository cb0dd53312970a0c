"""Results and pages as Markdown, HTML, data frames and bibliographies.

What is made here is for people and for other tools; it is never read back. Results find these
functions by name (`dsh_web.showing`), so that nothing of this is loaded before somebody asks.
"""
