"""`stagec view`: one page that shows a function at each stage, linked by the user's lines."""
