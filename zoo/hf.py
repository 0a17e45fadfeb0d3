"""Where ``import zoo.hf`` of earlier versions is told what to write instead."""

raise ImportError("zoo.hf is the plug-in zoo-hf now: pip install ./plugins/zoo-hf, import zoo_hf")
