# %% [markdown]
# # Sentences of your own
#
# A CSV file with a column of texts and a column of labels is all that is needed. Here the sentences are put together
# from parts, so that the page runs anywhere; put the name of your file in place of `mails.csv`.

# %%
import csv

import matplotlib.pyplot as plt
import numpy as np

from gluonnlp.finetune import TextClassifier, default_recipe, train_classifier

random = np.random.RandomState(2)
PARTS = {
    "invoice": (["the bill for", "your invoice about", "payment is due for"], ["may", "the repair", "two chairs"]),
    "travel": (["our flight to", "the hotel in", "a train from"], ["oslo is late", "lisbon is booked", "rome is full"]),
    "thanks": (
        ["thank you for", "we are glad about", "many thanks for"],
        ["your help", "the flowers", "the good news"],
    ),
}
ENDINGS = ["", "please answer soon", "see you on monday", "best wishes", "call me", "more follows"]
with open("mails.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow(["body", "folder"])
    for folder, (beginnings, things) in PARTS.items():
        for _ in range(80):
            writer.writerow([" ".join(random.choice(part) for part in (beginnings, things, ENDINGS)), folder])

# %% [markdown]
# ## Training
#
# `model="textcnn"` learns from nothing with the words of the table. With the name of a BERT or RoBERTa, or a folder of
# transformers or `"hf://OWNER/NAME"` as `pretrained`, the same call fine-tunes published weights, which needs fewer
# examples and more time.

# %%
classifier, result = train_classifier(
    "mails.csv", text="body", label="folder", folder="mail-classifier", max_length=16,
    recipe=default_recipe("textcnn", epochs=3, batch_size=16), say=print,
)  # fmt: skip
print(f"{result.accuracy:.1%} of the {len(result.labels)} sentences that were held out")
assert result.accuracy > 0.9

# %%
figure, (curves, matrix) = plt.subplots(1, 2, figsize=(9, 3.2))
for key in ("training_loss", "validation_loss"):
    curves.plot([row[key] for row in classifier.history], label=key.replace("_", " "))
curves.set(xlabel="epoch")
curves.legend()
matrix.imshow(result.confusion, cmap="Blues")
for i, row in enumerate(result.confusion):
    for j, count in enumerate(row):
        shade = "white" if count > result.confusion.max() / 2 else "black"
        matrix.text(j, i, int(count), ha="center", va="center", color=shade)
ticks = range(len(result.classes))
matrix.set(xticks=ticks, yticks=ticks, xticklabels=result.classes, yticklabels=result.classes)
matrix.set(xlabel="taken for", ylabel="is")
figure.tight_layout()

# %% [markdown]
# ## Using it
#
# Words that the table did not have are unknown to a TextCNN; it goes by the others.

# %%
again = TextClassifier.load("mail-classifier")
for sentence in ("thanks a lot for your help", "is the hotel in lisbon booked", "payment for the repair"):
    name, probability = again.predict([sentence])[0][0]
    print(f"{sentence:32} {name:8} {probability:.2f}")
assert again.predict(["thank you for the flowers"])[0][0][0] == "thanks"

# %% [markdown]
# What it gets wrong with the most confidence is worth a look before more data are collected: `result.mistakes()` has
# the numbers of these sentences, and `mail-classifier/report.html` shows them.

# %%
print(result.mistakes(), [f"{name} {row['f1']:.2f}" for name, row in result.facts()["classes"].items()])
