"""What tests of filters share."""
