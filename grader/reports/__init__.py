"""What people look at: class and student pages, the class table, similarity."""
