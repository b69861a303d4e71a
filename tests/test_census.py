"""The count of the laws that fire."""

from tests.census import census, report

PROGRAM = '''
import passes
from passes.bindings import ir, new_context

def test_program():
    text = """func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
      %0 = stablehlo.xor %x, %x : tensor<4xi32>
      return %0 : tensor<4xi32>
    }"""
    passes.run(ir.Module.parse(text, new_context()), "simplify")
'''


def test_laws_that_fire_are_counted_and_the_others_named(tmp_path, capsys):
    path = tmp_path / "test_program.py"
    path.write_text(PROGRAM)
    lines = report(census([str(path), "-p", "no:xdist"]))
    capsys.readouterr()
    assert lines[0].split() == ["1", "xor_itself"]
    assert "laws never fire" in lines[1]
    assert "add_identity" in lines[2:] and "xor_itself" not in lines[2:]
