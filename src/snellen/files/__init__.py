"""Files and addresses: opened, known by their content, and written so that they appear whole."""
