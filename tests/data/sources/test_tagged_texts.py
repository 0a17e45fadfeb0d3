"""Tagged texts: columns of CoNLL files, divisions, and class names of the Hub; groups of texts."""

from pathlib import Path

from fakehub import hub_of
from reading import read, read_tagged, tag_reader
from refused import refused

from zoo.data.sources.corpus import IGNORED
from zoo.data.sources.load_data import load_data
from zoo.data.sources.row_reader import TaggedTexts
from zoo.registry import Registry

FILES = Path(__file__).parents[1] / "files"


def test_columns_of_a_conll_file_are_chosen_by_number(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text("1 Anna N PER\n2 runs V O\n\n" * 2 + "1 Ben N PER\n2 runs V O\n")
    corpus, _ = read_tagged(path, tokens_column="2", tags_column="3")
    assert corpus.label_names == ["N", "V"]
    assert {token for tokens in corpus.train.texts for token in tokens} <= {"Anna", "Ben", "runs"}
    assert read_tagged(path)[0].label_names == ["O", "PER"]


def test_columns_of_conll_u_have_names(tmp_path):
    path = FILES / "universal.conllu"
    usual = read_tagged(path, test=str(path))[0]
    assert usual == read_tagged(path, tokens_column="FORM", tags_column="UPOS", test=str(path))[0]
    xpos = read_tagged(path, tags_column="XPOS", test=str(path))[0]
    assert xpos.label_names == ["PRP", "RB", "VB", "VBD"]
    renamed = tmp_path / "universal.txt"  # the ids of its words say what it is
    renamed.write_text(path.read_text())
    assert read_tagged(renamed, test=str(path))[0].train == usual.train
    renamed.write_text("1-2 can't _\n1 ca AUX\n2 n't PART\n2.1 go VERB\n")  # and of fewer columns
    examples, _ = tag_reader().examples(tag_reader().tables(renamed))
    assert examples.texts == [["ca", "n't"]]
    says = "no column 'POS'.*There is: ID, FORM, LEMMA, UPOS, XPOS"
    refused(says, read_tagged, path, tags_column="POS")


def test_hub_data_give_their_class_labels_by_name(serve, tmp_path):
    import datasets

    names = datasets.ClassLabel(names=["O", "B-PER", "B-LOC", "I-LOC"])
    features = datasets.Features(
        {
            "tokens": datasets.Sequence(datasets.Value("string")),
            "ner_tags": datasets.Sequence(names),
        }
    )
    texts = [["Anna", "sees", "New", "York"], ["Ben", "runs"], ["Rome", "is", "far"]]
    tags = [[1, IGNORED, 2, 3], [1, 0], [2, 0, 0]]
    rows = [{"tokens": t, "ner_tags": n} for t, n in zip(texts, tags, strict=True)]
    files = {}
    for split, part in (("train", rows), ("test", rows[1:3])):
        file = tmp_path / f"{split}.parquet"
        datasets.Dataset.from_list(part, features=features).to_parquet(file)
        files[file.name] = file.read_bytes()
    serve(hub_of("owner/ner", files))
    reader = TaggedTexts(tags_column="ner_tags")
    corpus, _ = load_data(Registry(), "hub:owner/ner", reader)
    assert corpus.label_names == ["B-LOC", "B-PER", "I-LOC", "O"]
    assert corpus.train.targets[0] == [1, IGNORED, 0, 2]
    assert corpus.test.texts == texts[1:]


def test_data_of_another_kind_are_refused(registry):
    for spec, reader, says in (
        ("newswire(train=10, test=5)", TaggedTexts(), "gives no TaggedCorpus but a Corpus"),
        ("recall", TaggedTexts(tokens_column="words"), "--tokens-column: for files and hub: data"),
    ):
        refused(says, load_data, registry, spec, reader)


def test_every_test_text_has_the_group_of_its_row(tmp_path):
    path = tmp_path / "grouped.csv"
    lines = [f"text {n},{'ab'[n % 2]},{2000 + n}" for n in range(12)]
    path.write_text("\n".join(["text,label,year", *lines]))
    corpus, _ = read(path, group_column="year")
    expected = [str(2000 + int(text.removeprefix("text "))) for text in corpus.test.texts]
    assert corpus.test.groups == expected
    plain, _ = read(path)
    assert plain.test.groups == []
    assert plain.fingerprint != corpus.fingerprint
