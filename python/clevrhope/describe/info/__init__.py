"""What `clevrhope info` says of a dataset's folder: what is there, how it was made, what could be added."""
