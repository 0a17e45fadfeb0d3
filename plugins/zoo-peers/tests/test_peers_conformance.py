"""The zoo's own conformance checks, of every peer and in every way that it can be built."""

from zoo.testing import parametrize_with_checks


@parametrize_with_checks(distribution="zoo-peers")
def test_conforms(check):
    check()


@parametrize_with_checks(
    "baseline/torch-encoder(positions='learned', activation='gelu', pool='cls')",
    "baseline/torch-encoder(norm_first=True)",
    "baseline/x-transformers(positions='absolute')",
    "baseline/hf-bert(attn_implementation='eager')",
)
def test_conforms_with_parameters(check):
    check()
