"""What a source is, by its pictures: clean, film or soft; coded or not."""
