"""Single-stage variants of the multistage cube: MAN-YO, LSSN and Lambda (Siegel et al., VIII)."""
