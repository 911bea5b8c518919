"""Tests of lint.py: each plants a violation in a tree of its own and expects to be told of it."""
import pathlib
import subprocess
import tempfile
import unittest

import lint

ORDER = """set(hawser_folders
  base platform core core/group transport transport/self transport/shm p2p)
"""


class LintTest(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.root = pathlib.Path(held.name)
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write("src/CMakeLists.txt", ORDER)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def problems(self, check):
        return list(check(lint.Tree(self.root)))

    def expect(self, check, *beginnings):
        found = self.problems(check)
        self.assertEqual(len(found), len(beginnings), found)
        for problem, beginning in zip(found, beginnings):
            self.assertTrue(problem.startswith(beginning), problem)


class Layers(LintTest):
    def test_a_lower_folder_may_be_included(self):
        self.write("src/base/a.hpp", "")
        self.write("src/p2p/b.cpp", '#include "base/a.hpp"\n#include <vector>\n')
        self.expect(lint.check_layers)

    def test_a_higher_folder_may_not(self):
        self.write("src/base/b.hpp", '// one\n#include "p2p/a.hpp"\n')
        self.expect(lint.check_layers,
                    'src/base/b.hpp:2: includes "p2p/a.hpp", but p2p comes after')

    def test_angle_brackets_and_blanks_hide_nothing(self):
        self.write("src/base/b.hpp", "  #  include <p2p/a.hpp>\n")
        self.expect(lint.check_layers, 'src/base/b.hpp:1: includes "p2p/a.hpp"')

    def test_components_of_one_contract_are_strangers_both_ways(self):
        self.write("src/transport/self/a.hpp", '#include "transport/shm/b.hpp"\n')
        self.write("src/transport/shm/b.hpp", '#include "transport/self/a.hpp"\n')
        self.expect(lint.check_layers,
                    'src/transport/self/a.hpp:1: includes "transport/shm/b.hpp", but '
                    'transport/self and transport/shm are components',
                    'src/transport/shm/b.hpp:1: includes "transport/self/a.hpp"')

    def test_a_component_may_include_its_contract(self):
        self.write("src/transport/shm/b.hpp", '#include "transport/transport.hpp"\n')
        self.expect(lint.check_layers)

    def test_the_contract_may_not_include_a_component(self):
        self.write("src/transport/b.hpp", '#include "transport/shm/b.hpp"\n')
        self.expect(lint.check_layers, 'src/transport/b.hpp:1: includes "transport/shm/b.hpp", but')

    def test_a_folder_that_is_not_listed(self):
        self.write("src/stray/a.hpp", "")
        self.expect(lint.check_layers, "src/stray/a.hpp:1: its folder is missing")

    def test_including_a_folder_that_is_not_listed(self):
        self.write("src/stray/a.txt", "")
        self.write("src/p2p/b.hpp", '#include "stray/a.txt"\n')
        self.expect(lint.check_layers, 'src/p2p/b.hpp:1: includes "stray/a.txt", whose folder')

    def test_paths_are_relative_to_src(self):
        self.write("src/p2p/b.hpp", '#include "../p2p/a.hpp"\n')
        self.expect(lint.check_layers, 'src/p2p/b.hpp:1: includes "../p2p/a.hpp"; write')

    def test_softrdma_knows_base_and_platform_only(self):
        self.write("softrdma/a.cpp", '#include "base/a.hpp"\n#include "core/b.hpp"\n')
        self.expect(lint.check_layers, 'softrdma/a.cpp:2: includes "core/b.hpp", but softrdma/ may')

    def test_softrdma_has_an_order_of_its_own(self):
        self.write("softrdma/CMakeLists.txt", "set(softrdma_folders wire qp)\n")
        self.write("softrdma/qp/a.hpp", '#include "softrdma/wire/b.hpp"\n')
        self.write("softrdma/wire/b.hpp", '#include "softrdma/qp/a.hpp"\n')
        self.expect(lint.check_layers,
                    'softrdma/wire/b.hpp:1: includes "softrdma/qp/a.hpp", but qp is not named before')

    def test_softrdma_says_its_order(self):
        self.write("softrdma/CMakeLists.txt", "")
        self.expect(lint.check_layers, "softrdma/CMakeLists.txt:1: has no set(softrdma_folders")

    def test_programs_may_include_everything(self):
        self.write("launcher/a.cpp", '#include "p2p/b.hpp"\n')
        self.expect(lint.check_layers)


class Headers(LintTest):
    def test_a_header_that_needs_another_first(self):
        self.write("src/base/a.hpp", "#pragma once\ninline std::size_t a() { return 1; }\n")
        self.expect(lint.check_headers, "src/base/a.hpp:1: does not compile alone: ")

    def test_a_change_below_is_seen_through_the_cache(self):
        self.write(".gitignore", "build/\n")
        self.write("src/base/a.hpp", "#pragma once\nusing Number = int;\n")
        self.write("src/core/b.hpp", '#pragma once\n#include "base/a.hpp"\ninline Number n = 1;\n')
        self.expect(lint.check_headers)
        self.expect(lint.check_headers)
        self.write("src/base/a.hpp", "#pragma once\n")
        self.expect(lint.check_headers, "src/core/b.hpp:1: does not compile alone: ")


class Format(LintTest):
    def test_an_unformatted_file_and_a_generated_one(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("src/base/good.cpp", "int a;\n")
        self.write("src/base/bad.cpp", "int   a;\n")
        self.write("src/base/made.cpp", "// generated by api/generate.py\nint   a;\n")
        self.expect(lint.check_format, "src/base/bad.cpp:1: not formatted")


class Documents(LintTest):
    def test_a_dead_link(self):
        self.write("docs/a.md", "[good](b.md#part) [dead](c.md) [web](https://a.b/c) [here](#x)\n")
        self.write("docs/b.md", "`[code](none.md)`\n```\n[fenced](none.md)\n```\n")
        self.expect(lint.check_links, "docs/a.md:1: links to c.md, which does not exist")

    def test_a_missing_and_a_long_readme(self):
        self.write("src/README.md", "x\n" * 40)
        self.write("src/base/README.md", "x\n" * 41)
        self.write("src/core/group/a.hpp", "")
        self.write("src/core/README.md", "x\n")
        self.write("docs/a.md", "")
        self.expect(lint.check_readmes, "src/base/README.md:41: has 41 lines",
                    "src/core/group/README.md:1: is missing")


class Words(LintTest):
    def test_machine_paths_and_open_ends(self):
        self.write("src/base/a.cpp", 'auto a = "/work/x";\n// TODO later\nauto b = "/usr/tmp/x";\n'
                                     'auto c = "/tmp/x";  // lint: allow(what users write)\n')
        self.write("src/base/b.cpp", '// lint: allow(a test)\nauto c = "/root/x";\n')
        self.expect(lint.check_words, "src/base/a.cpp:1: '/work/'", "src/base/a.cpp:2: 'TODO'")


class Tracked(LintTest):
    def test_a_file_that_a_clone_would_lack(self):
        self.write(".gitignore", "*.o\n")
        self.write("src/base/a.o", "")
        subprocess.run(["git", "add", "-A"], cwd=self.root, check=True)
        self.expect(lint.check_tracked)
        self.write("src/base/a.cpp", "")
        self.expect(lint.check_tracked, "src/base/a.cpp:1: git does not know it")


class CommandLine(LintTest):
    def test_counts_and_status(self):
        self.write("docs/a.md", "[dead](c.md)\n")
        counts = self.root / "counts"
        arguments = ["--root", str(self.root), "--counts", str(counts),
                     "--only", "links,readmes,words"]
        self.write("src/README.md", "x\n")
        self.assertEqual(lint.main(arguments), 1)
        self.assertEqual(counts.read_text(), "2 1 0\n")

    def test_a_check_that_is_left_out(self):
        self.write("docs/a.md", "[dead](c.md)\n")
        arguments = ["--root", str(self.root), "--only", "links,words"]
        self.assertEqual(lint.main([*arguments, "--skip", "links"]), 0)
        with self.assertRaises(SystemExit):
            lint.main([*arguments, "--skip", "link"])


if __name__ == "__main__":
    unittest.main(buffer=True)
