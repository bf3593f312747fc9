"""From masked events to a report in six sections: chunks, interviewers, merge and grounding."""
