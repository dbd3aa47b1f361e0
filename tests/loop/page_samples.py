"""The samples of the tool runner's page, as they stand there, comments left out.

What the page leaves to the reader (`# ...`) is in `LEFT_OUT`.
"""

from __future__ import annotations

CALL = "client.beta.messages.tool_runner("
"""The one piece of a sample that changes, for `tool_runner(client, `."""

LEFT_OUT = '''
import json
import anthropic
from anthropic import beta_tool


@beta_tool
def get_weather(location: str, unit: str = "fahrenheit") -> str:
    """Get the current weather in a given location."""
    ran.append("get_weather")
    return json.dumps({"temperature": "20 C", "condition": "Sunny"})


@beta_tool
def calculate_sum(a: int, b: int) -> str:
    """Add two numbers together."""
    ran.append("calculate_sum")
    return str(a + b)


@beta_tool
def my_tool(query: str) -> str:
    """Look for something."""
    ran.append("my_tool")
    raise ValueError(f"nothing for {query}")


@beta_tool
def search_documents(query: str) -> str:
    """Search."""
    ran.append("search_documents")
    return f"about {query}"
'''

BASIC = """
client = Anthropic()


@beta_tool
def get_weather(location: str, unit: str = "fahrenheit") -> str:
    \"\"\"Get the current weather in a given location.

    Args:
        location: The city and state, e.g. San Francisco, CA
        unit: Temperature unit, either 'celsius' or 'fahrenheit'
    \"\"\"
    ran.append("get_weather")
    return json.dumps({"temperature": "20 C", "condition": "Sunny"})


@beta_tool
def calculate_sum(a: int, b: int) -> str:
    \"\"\"Add two numbers together.

    Args:
        a: First number
        b: Second number
    \"\"\"
    ran.append("calculate_sum")
    return str(a + b)


runner = client.beta.messages.tool_runner(
    model="claude-opus-5",
    max_tokens=1024,
    tools=[get_weather, calculate_sum],
    messages=[
        {
            "role": "user",
            "content": "What's the weather like in Paris? Also, what's 15 + 27?",
        }
    ],
)
for message in runner:
    print(message)
"""

UNTIL_DONE = """
client = anthropic.Anthropic()
# ...
runner = client.beta.messages.tool_runner(
    model="claude-opus-5",
    max_tokens=1024,
    tools=[get_weather, calculate_sum],
    messages=[
        {
            "role": "user",
            "content": "What's the weather like in Paris? Also, what's 15 + 27?",
        }
    ],
)
final_message = runner.until_done()
for block in final_message.content:
    if block.type == "text":
        print(block.text)
"""

_OF_ADVANCED_USE = """
runner = client.beta.messages.tool_runner(
    model="claude-opus-5",
    max_tokens=1024,
    max_iterations=10,
    tools=[get_weather],
    messages=[{"role": "user", "content": "What's the weather in San Francisco?"}],
)
"""

HISTORY = f"""{_OF_ADVANCED_USE}
for message in runner:
    tool_response = runner.generate_tool_call_response()
    if tool_response is not None:
        runner.append_messages(
            message,
            tool_response,
            {{"role": "user", "content": "Please be concise."}},
        )
"""

PARAMS = f"""{_OF_ADVANCED_USE}
for message in runner:
    runner.set_messages_params(lambda params: {{**params, "max_tokens": 2048}})
"""

INTERCEPTED = """
client = anthropic.Anthropic()
# ...
runner = client.beta.messages.tool_runner(
    model="claude-opus-5",
    max_tokens=1024,
    tools=[my_tool],
    messages=[{"role": "user", "content": "Run my_tool with the query 'hello'."}],
)

for message in runner:
    tool_response = runner.generate_tool_call_response()

    if tool_response is not None:
        for block in tool_response["content"]:
            if block.get("is_error"):
                raise RuntimeError(f"Tool failed: {json.dumps(block['content'])}")

    print(message.content)
"""

LOGGED = INTERCEPTED.replace("raise RuntimeError(", "seen.append(")
"""The second option of the sample: log, and let Claude deal with it."""

CACHED = """
client = anthropic.Anthropic()
# ...
runner = client.beta.messages.tool_runner(
    model="claude-opus-5",
    max_tokens=1024,
    tools=[search_documents],
    messages=[
        {
            "role": "user",
            "content": "Search for information about the climate of San Francisco",
        }
    ],
)

for message in runner:
    tool_response = runner.generate_tool_call_response()

    if tool_response is not None:
        for block in tool_response["content"]:
            if block["type"] == "tool_result":
                block["cache_control"] = {"type": "ephemeral"}

        runner.append_messages(message, tool_response)

    print(message.content)
"""

STREAMED = """
client = anthropic.Anthropic()
# ...
runner = client.beta.messages.tool_runner(
    model="claude-opus-5",
    max_tokens=1024,
    tools=[calculate_sum],
    messages=[{"role": "user", "content": "What is 15 + 27?"}],
    stream=True,
)

for message_stream in runner:
    for event in message_stream:
        print("event:", event)
    print("message:", message_stream.get_final_message())

print(runner.until_done())
"""
