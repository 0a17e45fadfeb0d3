"""Speed of the zoo's models side by side with other libraries, on the same work.

    python -m bench.peers                    # everything, some hours
    python -m bench.peers training articles  # these alone
    python -m bench.peers --quick            # tiny sizes, to see that it runs

Every comparison first checks that both sides compute the same function, and then prints one JSON
line that says what they compute. A library that is not installed gives a line that says how to
install it.
The models of a comparison take short turns in random order within one process. All is measured
again in a second process. On a CPU the default is one thread and CPU time.
"""
