"""What tests of MAD share."""
