"""What tests share: references, pictures, clips, steps, checks. No test module imports another."""
