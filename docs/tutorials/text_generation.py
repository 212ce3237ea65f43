# %% [markdown]
# # Text generation
#
# A small GPT-2 learns a nursery rhyme letter by letter, then goes on from a beginning: the likeliest letter each time,
# the best of several continuations, or letters drawn at random. With published weights the loop is the same:
# `gluonnlp.model.get_model("gpt2_117m", pretrained=True)`, and `load_huggingface` for a folder of transformers.

# %%
import matplotlib.pyplot as plt
import numpy as np

import core as mx
from gluon import Trainer, loss, nn
from gluonnlp.model import BeamSearchSampler, GPT2Model, SequenceSampler, TransformerEncoder

mx.random.seed(0)
RHYME = """twinkle, twinkle, little star, how i wonder what you are! up above the world so high,
like a diamond in the sky. when the blazing sun is gone, when he nothing shines upon,
then you show your little light, twinkle, twinkle, all the night.
""".replace("\n", " ")
letters = sorted(set(RHYME))
numbers = np.array([letters.index(c) for c in RHYME])

# %% [markdown]
# ## Learning
#
# The network gets pieces of the text and is asked, at each letter, for the next one.

# %%
LENGTH = 64
net = GPT2Model(units=48, vocab_size=len(letters), max_length=96, num_layers=2, num_heads=4)
net.initialize(mx.init.Normal(0.05))
net.hybridize()
trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 3e-3})
objective = loss.SoftmaxCrossEntropyLoss()
random = np.random.RandomState(0)
losses = []
for _ in range(300):
    starts = random.randint(0, len(numbers) - LENGTH - 1, 16)
    x = mx.nd.array(np.stack([numbers[s : s + LENGTH] for s in starts]), dtype="int32")
    y = mx.nd.array(np.stack([numbers[s + 1 : s + LENGTH + 1] for s in starts]))
    with mx.autograd.record():
        scores, _ = net(x)
        error = objective(scores, y)
    error.backward()
    trainer.step(16)
    losses.append(error.mean().asscalar())

figure, axis = plt.subplots(figsize=(6, 2.5))
axis.plot(losses)
axis.set(xlabel="step", ylabel="nats a letter")
assert losses[-1] < 0.3, losses[-1]

# %% [markdown]
# ## The likeliest letter
#
# The states are the keys and values of the letters that were read: each call reads one letter more.


# %%
def greedy(beginning, count=50):
    """The beginning and so many letters more."""
    written = beginning
    scores, states = net(mx.nd.array([[letters.index(c) for c in beginning]], dtype="int32"))
    for _ in range(count):
        best = int(scores[0, -1].argmax(axis=0).asscalar())
        written += letters[best]
        scores, states = net(mx.nd.array([[best]], dtype="int32"), states)
    return written


print(greedy("twinkle, "))
assert "little" in greedy("twinkle, ")

# %% [markdown]
# ## Several continuations
#
# Samplers call a decoder with the newest letters (batch,) and states, and want the scores of the next ones and new
# states. A beam keeps the best few; temperature and `top_k` say how adventurous a drawn text is. States are arrays whose
# first axis is the batch; here each sequence reads its whole past again, which is simplest.


# %%
def decoder(newest, past):
    """Log-probabilities of the next letters, and the letters that were read (batch, length)."""
    past = newest.reshape((-1, 1)) if past is None else mx.nd.concat(past, newest.reshape((-1, 1)), dim=1)
    scores, _ = net(past)
    return mx.nd.log_softmax(scores[:, -1]), past


def show(sampler, beginning="up above "):
    read = mx.nd.array([[letters.index(c) for c in beginning]], dtype="int32")
    samples, scores, _ = sampler(read[:, -1], read[:, :-1])
    for sample, score in zip(samples[0].asnumpy(), scores[0].asnumpy()):
        print(f"{score:7.2f}  {beginning[:-1]}{''.join(letters[k] for k in sample if k >= 0)}")


end = letters.index("!")
show(BeamSearchSampler(beam_size=2, decoder=decoder, eos_id=end, max_length=24))
show(SequenceSampler(beam_size=3, decoder=decoder, eos_id=end, max_length=24, temperature=0.5, top_k=5))

# %% [markdown]
# ## What a network attends to
#
# `output_attention=True` also returns the weights with which each position reads the others, one matrix (positions,
# positions) per head. An encoder of one layer learns to turn sequences round: position i has to read position 9 - i, and
# the picture of its weights shows that it does.

# %%
encoder = TransformerEncoder(
    units=32, hidden_size=64, num_layers=1, num_heads=1, max_length=10, dropout=0.0, output_attention=True
)
embed, classify = nn.Embedding(len(letters), 32), nn.Dense(len(letters), flatten=False)
for part in (encoder, embed, classify):
    part.initialize(mx.init.Xavier())
parameters = {**embed.collect_params(), **encoder.collect_params(), **classify.collect_params()}
trainer = Trainer(parameters, "adam", {"learning_rate": 3e-3})
for _ in range(500):
    x = mx.nd.array(random.randint(0, len(letters), (32, 10)))
    with mx.autograd.record():
        read, weights = encoder(embed(x))
        error = objective(classify(read), x.flip(axis=1))
    error.backward()
    trainer.step(32)

pattern = weights[0][0][:, 0].mean(axis=0).asnumpy()
figure, axis = plt.subplots(figsize=(3.2, 3.2))
image = axis.imshow(pattern, cmap="viridis")
axis.set(
    xticks=range(10),
    yticks=range(10),
    xlabel="position that is read",
    ylabel="position that reads",
    title="attention weights",
)
figure.colorbar(image, shrink=0.8)
assert (pattern.argmax(axis=1) == np.arange(10)[::-1]).all()
