"""From records to tables, statistics, plots and pages; records are all it reads."""
