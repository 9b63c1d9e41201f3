"""What tests of A+ share."""
