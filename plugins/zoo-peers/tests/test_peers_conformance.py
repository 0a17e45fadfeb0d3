"""The zoo's own conformance checks, of every peer and in every way that it can be built."""

from zoo.testing import checks

test_conforms = checks(distribution="zoo-peers")


test_conforms_with_parameters = checks(
    "baseline/torch-encoder(positions='learned', activation='gelu', pool='cls')",
    "baseline/torch-encoder(norm_first=True)",
    "baseline/x-transformers(positions='absolute')",
    "baseline/hf-bert(attn_implementation='eager')",
)
