"""Every flag of every command is in its help, its man page and the completions of all shells.

The commands come from `driftless --help` and the flags from the help of each, read here by their
layout. The shells are real where they are installed: bash, zsh and fish."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX

SHELLS = ("bash", "zsh", "fish")
COLUMNS_MAX = 100


def call(*command, code=0, **how):
    done = subprocess.run([DRIFTLESS, *map(str, command)], capture_output=True, text=True,
                          timeout=SECONDS_MAX, check=False, **how)  # fmt: skip
    if done.returncode != code:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done


def commands():
    """As the help of the program lists them, without those that it answers itself."""
    listed = call("--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\w+) ", listed, re.MULTILINE)


def forms():
    """Words behind which flags may stand: a command, or a kind of it."""
    for name in commands():
        text = call(name, "--help", "all").stdout
        kinds = [""]
        if "\nKinds:\n" in text:
            listed = text.split("\nKinds:\n")[1].split("\n\n")[0]
            kinds = re.findall(r"^  ([a-z-]+(?: [a-z-]+)?)(?: TRACE)?  ", listed, re.MULTILINE)
        for kind in kinds:
            yield f"{name} {kind}".strip()


def flags_of(form):
    """The flags that its help shows at the beginning of a line."""
    text = call(*form.split(), "--help", "all").stdout
    found = set()
    for line in re.findall(r"^  (-\S.*?)(?:  |$)", text, re.MULTILINE):
        found.update(re.findall(r"(?:^|,)(--?[A-Za-z][\w-]*)", line.split()[0]))
    return found


ALL = {form: flags_of(form) for form in forms()}

# A new user's words for `driftless help`, each with a line that the answer must have.
WORDS = {
    "verdict": r"^summary.json: verdict  ",
    "host-noisy": r"^driftless help verdict.md: host-noisy  .*(\n    .*)*quiet machine",
    "goodput": r"^driftless replay.* --goodput LIMITS  in ms",
    "users": r"^driftless replay.* --users N  ",
    "cache": r"^driftless mock --cache-block TOKENS  ",
    "units": r"\Aunits  durations are 90, 1.5s(.*\n)*driftless help records.md  keys and units",
    "--certify-within": r"^driftless replay.* --certify-within T  taint",
    "ttft": r"^driftless mock --ttft T  time to the first token",
    "ttft_ns": r"^requests.jsonl: ttft_ns",
    "seed": r"^driftless .*replay.* --seed N  ",  # near a command's name, too
    "certified": r"^exit code 6  not certified",
    "kept_up": r"^summary.json: kept_up  Whether the server kept up",
    "tenant": r"^driftless replay --keep NAME  a column of the trace",
    "keep up": r"^summary.json: kept_up  whether the server kept up",
    "exit codes": r"\Aexit code 0  .*(\n.*)*\nexit code 8  ",
    "exit code 3": r"\Aexit code 3  ",
    "bench": r"\Adriftless replay  what other tools call bench$",
    "run": r"\Adriftless replay  what other tools call run\n.*run.ipynb",
    "serve": r"\Adriftless mock  what other tools call serve$",
}


class Screen:
    """A shell at a terminal, as a person has it."""

    def __init__(self, *command, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, env)
        self.seen = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, pattern):
        end = time.monotonic() + SECONDS_MAX
        while not re.search(pattern, self.seen):
            ready, _, _ = select.select([self.fd], [], [], end - time.monotonic())
            if not ready:
                raise AssertionError(f"{pattern} did not come: {self.seen!r}")
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the shell ended before {pattern}: {self.seen!r}") from None
        return re.search(pattern, self.seen)

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


class Help(Case):
    def test_the_commands_are_there(self):
        """What the tests below go over is not nothing."""
        self.assertLessEqual({"replay", "inspect", "mock", "doctor", "synth stress reuse"}, set(ALL))
        self.assertLessEqual({"--url", "--api", "--resume"}, ALL["replay"])
        self.assertLessEqual({"-o", "--out"}, ALL["convert"])
        for form, flags in ALL.items():
            self.assertIn("--help", flags, form)

    def test_no_line_is_too_wide(self):
        """Of any help, the program's own included."""
        own = [("--help",), ("help",), ("completion", "--help"), ("help", "version")]
        own += [("help", word) for word in WORDS]
        for words in own + [(*form.split(), "--help", *all_of) for form in ALL for all_of in ((), ("all",))]:
            for line in call(*words).stdout.splitlines():
                self.assertLessEqual(len(line), COLUMNS_MAX, f"{words}: {line}")

    def script(self, shell):
        path = self.scratch / f"driftless.{shell}"
        path.write_text(call("completion", shell).stdout)
        return path

    def test_man_pages_have_every_flag(self):
        for name in commands():
            page = call("help", "--man", name).stdout.replace("\\-", "-")
            for form in (one for one in ALL if one.split()[0] == name):
                self.assertIn(f"driftless {form}", page)
                for flag in ALL[form]:
                    self.assertRegex(page, rf"\\fB{flag}\\fR", f"{form} {flag}")
        first = call("help", "--man").stdout.replace("\\-", "-")
        for name in commands():
            self.assertIn(f"driftless-{name}\\fR(1)", first)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_man_pages_are_clean_for_mandoc(self):
        for words in ([], *[[name] for name in commands()]):
            page = call("help", "--man", *words).stdout
            done = subprocess.run(["mandoc", "-Tlint"], input=page, capture_output=True, text=True,
                                  check=False)  # fmt: skip
            # Pages of the other commands are not installed where this runs.
            said = [line for line in done.stdout.splitlines() if "referenced manual not found" not in line]
            self.assertEqual(said, [], words)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_man_pages_are_clean_for_groff(self):
        for words in ([], *[[name] for name in commands()]):
            page = call("help", "--man", *words).stdout
            done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=page, text=True,
                                  capture_output=True, check=False)  # fmt: skip
            self.assertEqual(done.stderr, "", words)

    def bash_replies(self, script, *words):
        """What bash completes of words of which the last is being typed."""
        line = " ".join(f"'{word}'" for word in words)
        ask = f"""source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}
                  _driftless 2>/dev/null; printf '%s\\n' "${{COMPREPLY[@]}}" """
        done = subprocess.run(["bash", "--norc", "-c", ask], capture_output=True, text=True, check=True,
                              cwd=self.scratch)  # fmt: skip
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_bash(self):
        script = self.script("bash")
        first = self.bash_replies(script, "driftless", "")
        self.assertEqual(first, {*commands(), "help", "version", "completion"})
        for form, flags in ALL.items():
            self.assertEqual(self.bash_replies(script, "driftless", *form.split(), "-"), flags)
        self.assertEqual(self.bash_replies(script, "driftless", "synth", "stress", "re"),
                         {"reuse", "reactivation"})  # fmt: skip
        self.assertEqual(self.bash_replies(script, "driftless", "help", "rep"), {"replay", "report"})
        self.assertEqual(self.bash_replies(script, "driftless", "help", "sec"), {"seccomp.json"})
        self.assertEqual(self.bash_replies(script, "driftless", "replay", "--balance", ""),
                         {"turn", "session"})  # fmt: skip
        self.assertEqual(self.bash_replies(script, "driftless", "replay", "--balance", "=", "t"),
                         {"turn"})  # fmt: skip
        self.assertEqual(self.bash_replies(script, "driftless", "replay", "--speed", ""), set())
        (self.scratch / "conversation.jsonl").touch()
        for words in (("replay", "conv"), ("replay", "--tokenizer", "conv"), ("report", "conv"),
                      ("replay", "--calibration", "conv")):  # fmt: skip
            self.assertEqual(self.bash_replies(script, "driftless", *words), {"conversation.jsonl"})
        self.assertLessEqual({"auto", "none"}, self.bash_replies(script, "driftless", "replay",
                                                                 "--calibration", ""))  # fmt: skip
        self.assertEqual(self.bash_replies(script, "driftless", "sweep", "t", "--", "--require-c"),
                         {"--require-certified"})  # fmt: skip

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        script = self.script("fish")

        def replies(line):
            ask = f"source {script}; complete -C '{line}'"
            done = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True,
                                  check=True, env={**os.environ, "HOME": str(self.scratch)},
                                  cwd=self.scratch)  # fmt: skip
            self.assertEqual(done.stderr, "")
            return {line.split("\t")[0] for line in done.stdout.splitlines()}

        self.assertEqual(replies("driftless "), {*commands(), "help", "version", "completion"})
        for form, flags in ALL.items():
            self.assertEqual(replies(f"driftless {form} -") & flags, flags, form)
            self.assertEqual(replies(f"driftless {form} --"),
                             {flag for flag in flags if flag.startswith("--")})  # fmt: skip
        self.assertEqual(replies("driftless synth stress re"), {"reuse", "reactivation"})
        self.assertEqual(replies("driftless replay --balance "), {"turn", "session"})
        self.assertEqual(replies("driftless help rep"), {"replay", "report"})
        self.assertEqual(replies("driftless help sec"), {"seccomp.json"})
        (self.scratch / "conversation.jsonl").touch()
        for words in ("replay conv", "replay --calibration conv"):
            self.assertEqual(replies(f"driftless {words}"), {"conversation.jsonl"})
        self.assertLessEqual({"auto", "none"}, replies("driftless replay --calibration "))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        """What _arguments is given, by the functions of the script in a real zsh."""
        script = self.script("zsh")
        for form, flags in ALL.items():
            words = " ".join(["driftless", *form.split(), "--"])
            ask = f"""compdef() {{ : }}; _arguments() {{ print -rl -- "$@" }}; source {script}
                      words=({words}); CURRENT=$#words; PREFIX=--; _driftless"""
            done = subprocess.run(["zsh", "-f", "-c", ask], capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")
            given = {found.rstrip("=+") for found in
                     re.findall(r"^(?:\*|\([^)]*\))?(-[^\[]+)\[", done.stdout, re.MULTILINE)}  # fmt: skip
            self.assertEqual(given, flags, form)

    def at_terminal(self, shell, script, typed):
        """The line that a shell makes of what is typed, Tab included, before Enter."""
        env = {**os.environ, "PS1": "$ ", "TERM": "dumb", "HOME": str(self.scratch),
               "ZDOTDIR": str(self.scratch)}  # fmt: skip
        folder = pathlib.Path(DRIFTLESS).parent
        env["PATH"] = f"{folder}:{env['PATH']}"
        flags = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[shell]
        screen = Screen(shell, *flags, env=env)
        try:
            before = "bindkey -e; autoload -U compinit; compinit -u -D; " if shell == "zsh" else ""
            screen.type(f"{before}source {script}; shown() {{ echo \"<$*>\"; }}; echo ready''now\n")
            screen.read_until("readynow")
            # The line is completed as the program's, and then handed to a function that shows it.
            screen.type(typed)
            screen.type("\t")
            screen.type("\x01shown \x05\n")
            return screen.read_until(r"<(driftless[^>]*)>").group(1).strip()
        finally:
            screen.close()

    def test_at_a_terminal(self):
        for shell in ("bash", "zsh"):
            if not shutil.which(shell):
                continue
            script = self.script(shell)
            for typed, line in (
                ("driftless insp", "driftless inspect"),
                ("driftless help sec", "driftless help seccomp.json"),
                ("driftless replay --require-c", "driftless replay --require-certified"),
                ("driftless replay --balance sess", "driftless replay --balance session"),
                ("driftless replay --format moon", "driftless replay --format mooncake"),
                ("driftless replay --calibration non", "driftless replay --calibration none"),
                ("driftless synth stress fan", "driftless synth stress fan-out"),
                ("driftless convert --replicate-w", "driftless convert --replicate-within"),
            ):
                with self.subTest(shell=shell, typed=typed):
                    self.assertEqual(self.at_terminal(shell, script, typed).rstrip("="), line)

    def test_choices_are_what_the_parser_takes(self):
        """Each word that is offered for a value is taken, or refused for another reason."""
        script = call("completion", "bash").stdout
        offered = re.findall(r"^    'replay (--\S+)'\) reply='([^'/]+)' ;;$", script, re.MULTILINE)
        self.assertGreater(len(offered), 15)
        self.assertIn(("--balance", "turn session"), offered)
        apis = dict(offered)["--api"].split()
        self.assertLessEqual({"openai-chat", "anthropic", "triton", "ollama"}, set(apis))
        for flag, words in offered:
            for word in words.split():
                said = subprocess.run([DRIFTLESS, "replay", SAMPLE, "--dry-run", "--url", "http://a",
                                       flag, word, "--out", self.scratch / "no"],
                                      capture_output=True, text=True, check=False,
                                      timeout=SECONDS_MAX).stderr  # fmt: skip
                self.assertNotIn(f'{flag} "{word}" is not', said)

    def test_each_choice_is_the_nearest_to_its_typo(self):
        """Of every flag of every command: the longest word that it takes, with a letter lost."""
        script = call("completion", "bash").stdout
        offered = re.findall(r"^    '([a-z -]+) (--\S+)'\) reply='([^'/]+)' ;;$", script, re.MULTILINE)
        self.assertGreater(len(offered), 60)
        for form, flag, words in offered:
            word = max(words.split(), key=len)
            if len(word) < 4 or flag in ("--cache-salt", "--why"):
                continue  # too short for a guess; any text is a salt, or the folder of a run
            typo = word[:-2] + word[-1]
            said = subprocess.run([DRIFTLESS, *form.split(), flag, typo], capture_output=True, text=True,
                                  check=False, timeout=SECONDS_MAX).stderr  # fmt: skip
            self.assertIn("did you mean", said, f"{form} {flag} {typo}")

    def test_words_as_people_type_them(self):
        for words in (("help",), ("-h",), ("--help",)):
            self.assertEqual(call(*words).stdout, call("--help").stdout)
        mock = call("mock", "--help").stdout
        for words in (("help", "mock"), ("--help", "mock"), ("mock", "-h"), ("mock", "help")):
            self.assertEqual(call(*words, cwd=self.scratch).stdout, mock, words)
        for words in (("help", "-h"), ("help", "help"), ("help", "--help")):
            self.assertEqual(call(*words).stdout, call("--help").stdout, words)
        self.assertEqual(call("help", "completion").stdout, call("completion", "--help").stdout)
        self.assertIn("Prints version, commit", call("help", "version").stdout)
        for words in (("version",), ("-V",), ("--version",)):
            self.assertEqual(call(*words).stdout.split("\n")[0], call("--version").stdout.split("\n")[0])
        self.assertEqual(call("version", "--help").stdout, call("help", "version").stdout)
        self.assertIn("name bash, zsh or fish", call("completion", code=2).stderr)
        self.assertIn("no shell tcsh", call("completion", "tcsh", code=2).stderr)

    def test_the_help_is_one_screen(self):
        """Where all flags are more than 60 lines: the most used ones, examples, and the groups."""
        for form in ALL:
            whole = call(*form.split(), "--help", "all").stdout
            said = call(*form.split(), "--help").stdout
            if len(whole.splitlines()) <= 60:
                self.assertEqual(said, whole, form)
                continue
            self.assertLessEqual(len(said.splitlines()), 40, form)
            self.assertIn("\nUsage: driftless " + form, said)
            self.assertEqual(said.count("\n  driftless " + form), 3, form)
            self.assertIn(f"driftless {form} --help GROUP", said)
            for line in re.findall(r"^  -.*", said, re.MULTILINE):
                self.assertIn(line, whole)
            for group in re.findall(r"^\S.*(?=:\n  -)", whole, re.MULTILINE):
                if group != "Options":
                    self.assertRegex(said, rf"\nGroups of flags:[^:]*[ \n]{group}[,\n]")

    def test_the_help_has_topics(self):
        whole = call("replay", "--help", "all").stdout
        self.assertEqual(call("help", "replay", "all").stdout, whole)
        server = call("replay", "--help", "server").stdout
        for words in (("replay", "-h", "SERVER"), ("help", "replay", "Server"),
                      ("replay", "t", "--help", "server", "--speed")):  # fmt: skip
            self.assertEqual(call(*words).stdout, server, words)
        listed = whole.split("\nServer:\n")[1].split("\n\n")[0]
        self.assertTrue(server.startswith("Server:\n" + listed + "\n\nAPIs:\n"), server)
        prompts = call("replay", "--help", "prompts").stdout
        self.assertTrue(prompts.startswith("Prompts and answers:\n"), prompts)
        self.assertEqual(call("replay", "--help", "prompts and answers").stdout, prompts)
        cached = call("replay", "--help", "cache").stdout
        self.assertLessEqual({"--cache-salt", "--reset-cache", "--block-cache"}, set(re.findall(r"--[\w-]+", cached)))
        self.assertNotIn("--speed", cached)
        self.assertTrue(call("mock", "--help", "faults").stdout.startswith("Faults:\n"))
        self.assertIn("--seed", call("help", "synth", "random").stdout)
        for form in ("replay", "mock", "report"):
            self.assertEqual(call(form, "--help=all").stdout, call(form, "--help", "all").stdout)

    def test_help_is_given_wherever_it_is_asked_for(self):
        """Nothing is sent, nothing else is read; a topic that no flag knows changes nothing."""
        overview = call("replay", "--help").stdout
        for words in (("t.jsonl", "-h"), ("--help", "--help"), ("t", "--model", "--help"),
                      ("vllm", "bench", "serve", "--help"), ("--dataset-name", "-h")):  # fmt: skip
            self.assertEqual(call("replay", *words).stdout, overview, words)
        for topic, named in (("t.jsonl", "t.jsonl"), ("--no-such-key=geheim", "--no-such-key")):
            said = call("replay", "--help", topic).stdout
            self.assertEqual(said, f'No flag has "{named}" in its name or text.\n\n' + overview)
        self.assertIn("--csv DIR", call("report", "-h", "runs/x").stdout)
        for form in ("find", "sweep"):
            for words in (("--", "--help"), ("t", "--out", "o", "--", "--speed", "2", "-h")):
                self.assertEqual(call(form, *words).stdout, overview, words)
            self.assertEqual(call(form, "--", "--help", "server").stdout,
                             call("replay", "--help", "server").stdout)

    def test_what_is_found_can_be_typed(self):
        for word in ("arrivals", "output", "files", "server"):
            typed = re.findall(r"^driftless (.*?)  the flags of ", call("help", word).stdout, re.MULTILINE)
            self.assertTrue(typed, word)
            for words in typed:
                self.assertNotIn("No flag has", call(*words.split()).stdout, words)
        call("help", "options", code=2)

    def test_a_word_is_found(self):
        for word, found in WORDS.items():
            said = call("help", word).stdout
            self.assertRegex(said, re.compile(found, re.MULTILINE), word)
            self.assertLessEqual(len(said.splitlines()), 30, word)
        self.assertTrue(call("help", "--goodput").stdout.startswith("driftless replay"))

    def test_typos_are_answered(self):
        for words, meant in (
            (("replya",), "did you mean replay?"),
            (("calib",), "did you mean calibrate?"),
            (("vresion",), "did you mean version?"),
            (("help", "inpsect"), "did you mean inspect?"),
            (("--verison",), "did you mean --version?"),
            (("-v",), "did you mean -V?"),
            (("replay", "t", "--ulr", "http://a"), "did you mean --url?"),
            (("replay", "t", "--ulr=http://a"), "did you mean --url?"),
            (("mock", "--lisen=1"), "unknown flag --lisen; did you mean --listen?"),
            (("mock", "--api-kye=geheim"), "unknown flag --api-kye"),
            (("replay", "t", "--timeout", "1s"), "--timeout-idle or --timeout-total?"),
            (("replay", "t", "--by", "turn"), "unknown flag --by; it is a flag of driftless report"),
            (("replay", "--version"), "use driftless --version"),
            (("help", "--version"), "use driftless --version"),
            (("run",), "did you mean replay?"),
            (("serve",), "did you mean mock?"),
            (("run.ipyn",), "did you mean driftless help run.ipynb?"),
            (("run.ipynb",), "driftless help run.ipynb prints it"),
            (("help", "--mann"), "did you mean --man?"),
            (("help", "secomp.json"), "did you mean driftless help seccomp.json?"),
            (("help", "--man", "seccomp.json"), "remove --man to print it"),
            (("help", "seccomp.json", "pod.yaml"), "unexpected argument pod.yaml"),
            (("help", "replay", "server", "more"), "unexpected argument more"),
            (("help", "nosuchword"), "unknown command 'nosuchword'"),
            (("version", "more"), "unexpected argument more"),
            (("completion", "bash", "more"), "unexpected argument more"),
            (("VERSION",), "did you mean version?"),
            (("REPLAY",), "did you mean replay?"),
            (("replay", "t", "--URL", "http://a"), "did you mean --url?"),
            (("--speed=2",), "as in driftless replay --speed"),
            (("--itl=1",), "as in driftless mock --itl"),
            (("replay", "t", "--url", "http://a", "--api", "opnai-chat"), "; did you mean openai-chat?"),
            (("replay", "t", "--url", "http://a", "--on-failure", "contineu"), "; did you mean continue?"),
            (("convert", str(SAMPLE), "--to", "mooncak"), "; did you mean mooncake?"),
            (("report", "r", "--view", "vlm"), "; did you mean vllm?"),
            (("-x",), "driftless: unknown flag '-x' (see driftless --help)"),
            (("--usage",), "driftless: unknown flag '--usage' (see driftless --help)"),
            ((str(SAMPLE),), "driftless inspect"),
        ):
            done = call(*words, code=2)
            self.assertIn(meant, done.stderr, words)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertNotIn("geheim", done.stderr)

    def test_a_mistyped_format_is_answered(self):
        done = call("inspect", str(SAMPLE), "--format", "moncake", code=2)
        self.assertIn("generic; did you mean mooncake?", done.stderr)

    def test_the_version_says_what_it_is(self):
        said = call("--version").stdout
        self.assertRegex(said, r"\Adriftless \d+\.\d+\.\d+\n")
        self.assertRegex(said, r"\ncommit    ([0-9a-f]{12}(-dirty)?, \d{4}-\d\d-\d\d|not known)\n")
        self.assertRegex(said, r"\ncompiler  (GNU|Clang) \d+\S*, MODE=\w+\n")
        self.assertIn(f"\nkernel    Linux {os.uname().release} ", said)
        self.assertRegex(said, r"\nio_uring  .+\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
