"""Speed of the zoo's models side by side with other libraries, on the same work.

    python -m bench.peers                    # everything, some ten minutes on two cores
    python -m bench.peers deep start         # these alone
    python -m bench.peers --quick            # tiny sizes, to see that it runs

Every comparison first checks that both sides compute the same function, and then prints one JSON
line. A library that is not installed gives a line that says how to install it.
"""
