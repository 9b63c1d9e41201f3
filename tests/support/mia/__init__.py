"""What tests of MIA share."""
