"""What a run is asked for, as pydantic models. No torch here."""
