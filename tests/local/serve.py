"""Serves a model by llama.cpp's own server, until its standard input is closed. Tells where on standard output.

serve.py MODEL TEMPLATE: a file of GGUF, and a template of how a conversation is told to the model, in Jinja.
"""

import sys

from xllamacpp import CommonParams, Server

model, template = sys.argv[1:]
params = CommonParams()
params.model.path = model
params.model_alias = {"qwen2.5-coder-1.5b"}
with open(template, encoding="utf-8") as text:
    params.chat_template = text.read()
params.n_ctx = 16384
params.n_parallel = 1
params.n_gpu_layers = 0
# The same question has the same answer.
params.sampling.temp = 0.0
params.sampling.seed = 1
params.verbosity = 1
server = Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
