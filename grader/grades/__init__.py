"""From records to grades: the policy, lateness, attempts."""
