"""From a request to records: plan, keys of what is reused, records, run."""
