"""C2: which tools the user's words ask for; and the many words that ask for none."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.chain.words.patterns import conditions_of, fitting, found_in, required_by_words
from haltpoint.chain.words.patterns_english import PATTERNS
from haltpoint.contracts.policy import Does, Pattern
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.intent import IntentEntry, IntentOrigin

SERVED = ("write_file", "query_database", "SkillTool_execute", "lookup_contacts", "send_message", "read_file")


def found(words: str) -> tuple[str | None, ...]:
    return tuple(entry.pattern for entry in required_by_words(words, "", PATTERNS, SERVED))


ASKING = r"""
file-write | Write a README.md file
file-write | write the file
file-write | Please save this to a file.
file-write | Create a file called notes.txt with my shopping list
file-write | Could you please write the results to a file?
file-write | Can you save it as report.csv?
file-write | Find the totals and save them to totals.csv
file-write | Look up John's address, then write it to a file
file-write | I want you to create a new file named todo.md
file-write | I'd like to save this conversation to a text file
file-write | Save the file
file-write | append this line to the file log.txt
file-write | Overwrite the file with the new text
file-write | Create index.html
file-write | Hello! Please write a file for me.
file-write | Don't forget to save the file.
file-write | Write "hello world" to hello.txt
file-write | Save the following to 'notes.md': milk, eggs
file-write | Okay, now create three empty text files.
file-write | I have a list of names. Please write it to names.txt.
file-write | Let's create a file for that
file-write | WRITE A FILE NAMED A.TXT
file-write | Wr\u200bite a fi\u200ble
file-write | Sаve the file
file-write | John, save this as minutes.docx please
file-write | 1. Read the page\n2. Save the summary to a file
file-write | would you save a copy of the report to a file
file-write | Why don't you save that to a file?
skill-pcc | Run PCC
skill-pcc | run pcc on the new project
skill-pcc | Please analyze the requirements.
skill-pcc | Can you analyse requirements for me?
skill-cap | Run cap
skill-cap | do a capability analysis
skill-red | run the red skill
skill-red | Could you perform a risk analysis?
database-search | Query the database for open orders
database-search | Search in the database for John
database-search | Find all unpaid invoices in the db
database-search | please look up the customer in our database
database-search | Search the customer database for Smith.
file-write | Could you store the summary in a file called sum.txt
file-write | Please create notes.md with the following content
file-write | write down the results in a file
file-write | Generate a CSV file with the totals
file-write | Save my answers to answers.json
file-write | I need you to write a config file for nginx
file-write | Now overwrite settings.yaml
file-write | create two files: a.txt and b.txt
file-write | Please make a new file named x.txt
file-write | First look up John and then save his number to a file
file-write | Kindly write the report into report.md
file-write | Can you append today's date to diary.txt?
file-write | Write a Python file that prints hello
database-search | Search the db for duplicates
database-search | Could you query our database for all users?
skill-red | Run a risk analysis on this plan
skill-pcc | Please run the pcc skill
skill-pcc | Analyze these requirements
skill-cap | Perform a capability analysis of the team
database-search | Find customers in the database
file-write | save it to a file, not to the disk
file-write | Save the list to no.txt
file-write | Please write a file with no header
file-write | No problem, save it to a file
""".strip().splitlines()


@pytest.mark.parametrize("line", ASKING)
def test_c2_words_that_ask_for_a_tool(line: str) -> None:
    wanted, words = line.split(" | ", 1)
    words = words.replace("\\n", "\n").replace("\\u200b", "\u200b")
    assert found(words) == (wanted,), words


ORDINARY = """
I saved money
Who wrote this?
Who wrote this file?
What is in the file?
Don't save the file.
Do not write any files.
Please don't create a file, just answer here.
Never overwrite the file.
You need not write a file.
Without saving to a file, tell me the total.
Tell me the answer instead of writing a file.
Rather than create a file, show it here.
How do I write a file in Python?
Explain how to create a file.
Tell me how to save a file in Word
What does "create file" mean?
What is the best way to write files?
Did you save the file?
Have you created the file yet?
Is there a way to save files?
Does it write a log file?
Can the tool create a file?
Can I save files here?
Should I save the file first?
I write files for a living.
I read and write files all day.
She will write the file tomorrow.
He said he would save the file.
They create files in the night.
The program writes a file.
The program should write a file when it starts.
I already saved the file.
I wrote the file yesterday.
The file was written by Ana.
Ana asked me to save the file.
I told him to create the file.
I was unable to save the file.
My script fails to write the file out.txt.
I cannot save the file.
It could not create the file.
The error says: cannot write file.
I tried to save the file but it crashed.
If you create a file, tell me.
Tell me whether you can write a file.
Write a poem about a file.
Write me a poem
Write a haiku about saving money.
Write a story in which a clerk saves a file.
Write a function that opens a file.
Write a function to open a file.
Write a file parser in Rust.
Create a file upload component.
Write a file system driver
Write an email to John.
Write to John that I am late.
Create a plan for Monday
Create an account for Ana.
Save the date!
Save time by taking the bus.
Save me a seat
Save energy
God save the king.
Create a meeting with the file clerk.
Create a summary of what is in the file.
Write a summary of the text in the file report.txt.
Write a review of main.py
Write tests for main.py
Create a Node.js server
Write it in Vue.js
Read the file notes.txt.
Open the file.
Delete the file.
Send the file to John.
Show me the files.
Summarize README.md
Tell John I'm running late
Tell Jane hello
Text Ana that dinner is at 8.
Don't send the message.
Send John the file.
Find John's number.
Find a restaurant in Berlin
Search the web for news.
Look up the word "database".
What is a database?
How do I query a database?
Which database do you use?
Our database is slow.
I searched the database yesterday.
Don't query the database.
Find a good database for my project.
Find out why the database is slow.
Find a bug in the database code.
Who runs the database?
Explain database queries.
The query ran for an hour.
I run every morning.
Run faster!
I ran out of red paint.
Run the tests.
Run, Forrest, run
Paint it red.
Put a cap on the budget
What is the cap on spending?
He wore a red cap.
The requirements are clear.
What are the requirements?
List the requirements
I have analyzed the requirements.
Who analyzes the requirements?
Should we analyze the requirements?
Do you know what a risk analysis is?
The risk analysis was good.
Don't run a risk analysis.
Thanks, that is all.
Good morning!
What time is it?
How much money did I save last year?
Why did she write that?
The weather is nice and I write letters.
My favourite file format is CSV.
I like the file manager on my computer.
"Write a file" is what he said.
He wrote: "please save the file"
> please save the file
What happens when I create a file?
When I save the file, it crashes.
Every time I create a file, the disk is full.
Is it safe to overwrite the file?
Compare saving to a file with saving to a database.
Remind me to call John.
Book a table for two
Pay the invoice
Schedule a call about the file format.
Translate "save the file" into German.
Bitte speichere die Datei.
Where did you save the file?
I have saved the file already, thanks
Please tell me who created this file
What would happen if I overwrite the file?
Our program should not create files
The file format changed last year
Write a blog post about databases
Write SQL that creates a database
How can I search in a database with Python?
Create a schedule for next week
Save this thought for later
Create a slogan for a file-sharing company
Write a letter to my landlord about the broken heater
She told me to run the tests and create a file
Nobody should write to that file
Are you able to write files?
Summarise the file report.txt
Draft a message to John
Compare the two databases
Find me a good book on databases
Please explain what the risk analysis says
Is a risk analysis required?
I wonder why the file was created
Run me through the requirements
Find a cap that fits me
Look up the word file in the dictionary
Create an image of a red car
Write code to query the database
Write a script that searches the database
Please don't touch the database
Show me a better version of notes.txt here, create no file
Translate notes.txt for me in the chat, create no new files
Write no files, just explain.
Answer here and save nothing to notes.txt
""".strip().splitlines()


def test_c2_there_are_enough_ordinary_sentences() -> None:
    assert len(set(ORDINARY)) >= 100


@pytest.mark.parametrize("words", ORDINARY)
def test_c2_ordinary_words_ask_for_nothing(words: str) -> None:
    assert found(words) == (), words


def test_c2_an_entry_says_which_pattern_has_found_which_words() -> None:
    (entry,) = required_by_words("Hello, please write the totals to a file.", "", PATTERNS, SERVED)
    words = "please write the totals to a file"
    assert entry == IntentEntry(tools=("write_file",), words=words, origin=IntentOrigin.PATTERN, pattern="file-write")


def test_c2_a_pattern_whose_tools_nobody_serves_is_off() -> None:
    assert required_by_words("write a file", "", PATTERNS, ("send_message", "read_file")) == ()


def test_c2_words_may_ask_for_more_than_one_thing() -> None:
    served = ("write_file", "create_file", "run_pcc_skill")
    entries = required_by_words("Write a file. Run pcc.", "", PATTERNS, served)
    assert [entry.tools for entry in entries] == [("create_file", "write_file"), ("run_pcc_skill",)]


@pytest.mark.parametrize("words", ["Leg keine Datei an", "Leg die Datei nicht an", "Leg keinerlei Dateien an"])
def test_c2_a_german_negation_among_the_words_of_a_pattern_asks_for_nothing(words: str) -> None:
    own = Pattern(id="datei", pattern=r"leg\w* .*datei\w* .*an", tools=("write_file",))
    assert required_by_words("Leg die Datei an", "", (own,), SERVED)
    assert not required_by_words(words, "", (own,), SERVED)


def test_c2_patterns_match_the_session_that_is_active() -> None:
    over = Pattern(id="writing", session="^write", tools=("WritePlanTool_*",))
    both = Pattern(id="ending", session="^write", pattern="finish|save", tools=("WritePlanTool_*",))
    served = ("WritePlanTool_begin", "WritePlanTool_append")

    def ids(words: str, session: str) -> list[str | None]:
        return [entry.pattern for entry in required_by_words(words, session, (over, both), served)]

    assert ids("go on", "Write_plan") == ["writing"]
    assert ids("finish it", "write_plan") == ["writing", "ending"]
    assert ids("finish it", "reading") == ids("finish it", "") == []


@pytest.mark.parametrize(
    ("glob", "name", "fits"),
    [
        ("*write*file*", "writeFile", True),
        ("*write*file*", "fs-write-file", True),
        ("*write*file*", "WriteFileTool", True),
        ("*write*file*", "write_email", False),
        ("DatabaseTool_*", "databaseTool_safeQuery", True),
        ("write", "write", True),
        ("write", "write_email", False),
        ("db_*", "db_query", True),
        ("db_*", "feedback", False),
        ("deploy_?", "deploy_1", True),
    ],
)
def test_c2_globs_and_names_are_compared_as_words(glob: str, name: str, fits: bool) -> None:
    assert bool(fitting((glob,), (name,))) is fits


# ---- long goals -----------------------------------------------------------------------------------------------------

LONG = "we look at my last order and say all that there is to say of it "
DEEP = ".*refund.*"


def looked_at(does: Does, pattern: str, words: str) -> bool:
    """Whether a pattern of this kind finds something."""
    one = Pattern(id="p", pattern=pattern, does=does, tools=("refund",))
    if does is Does.REQUIRED:
        return bool(required_by_words(words, "", (one,), ("refund",)))
    return bool(conditions_of(words, (one,), {"refund": ToolSpec(name="refund")}))


@pytest.mark.parametrize("does", [Does.REQUIRED, Does.ASK_BEFORE])
def test_c2_the_time_for_a_pattern_grows_with_the_goal_and_not_with_its_square(does: Does) -> None:
    """Its square is 4.5 s for 32,000 characters."""
    goal = LONG * 500
    before = time.process_time()
    assert not looked_at(does, DEEP, goal)
    assert found_in(goal, DEEP) is None
    assert required_by_words("", goal, (Pattern(id="p", session=DEEP, tools=("*",)),), ("refund",)) == ()
    assert time.process_time() - before < 2


@pytest.mark.parametrize("does", [Does.REQUIRED, Does.ASK_BEFORE])
@pytest.mark.parametrize("before", [LONG, f"{LONG}. ", f"{LONG}, ", f"{LONG}\n\n", "x" * 293 + " ", ""])
@pytest.mark.parametrize("times", [1, 9, 100])
def test_c2_a_pattern_is_found_in_each_part_of_a_long_goal(does: Does, before: str, times: int) -> None:
    goal = before * times + "please refund" + " again" * 40 + " and then" * 200
    assert looked_at(does, r"\bplease refund(?: again){40}", goal)
    assert found_in(goal, "please refund") == "please refund"


def test_c2_what_a_pattern_finds_several_times_or_without_words_is_found_so_in_a_long_goal() -> None:
    pattern = Pattern(id="p", pattern=r"call \d+|$", does=Does.ASK_BEFORE, tools=("refund",))
    goal = " ".join(f"call {number}" for number in range(300))
    found = [entry.words for entry in conditions_of(goal, (pattern,), {"refund": ToolSpec(name="refund")})]
    assert found == [*(f"call {number}" for number in range(300)), ""]


@given(st.text(max_size=300), st.text(max_size=20))
def test_c2_no_words_break_it(words: str, session: str) -> None:
    required_by_words(words, session, PATTERNS, SERVED)
