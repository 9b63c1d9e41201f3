"""Sources are told apart by their pictures: clean, film or soft; coded or not."""
