"""What tests of video share."""
