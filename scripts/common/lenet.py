"""LeNet (LeCun, Bottou, Bengio and Haffner, 1998) with the widths of the MXNet examples and rectified units."""


def lenet(nn, classes: int = 10, kernel: int = 5, padding: int = 0):
    """Two convolutions with max pooling and one hidden layer; input (N, C, H, W), output (N, classes).

    `nn` is the module of layers: `gluon.nn`, or the original's for a benchmark against it.
    """
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, kernel, padding=padding, activation="relu"),
        nn.MaxPool2D(2, 2),
        nn.Conv2D(50, kernel, padding=padding, activation="relu"),
        nn.MaxPool2D(2, 2),
        nn.Flatten(),
        nn.Dense(500, activation="relu"),
        nn.Dense(classes),
    )
    return net
