"""Options of jobs: fields, their types and help, and the values that several kinds share."""
