"""The command `gluon`: networks of both toolkits from a shell. `gluon_cli.main.main` is its entry."""
