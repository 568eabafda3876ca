"""What makes the homework: stubs, golden data, cases, figures, exercises."""
