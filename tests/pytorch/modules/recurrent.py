"""LSTM, GRU and plain recurrent networks."""
from torch import nn

from modules.helpers import fixture, rand


@fixture
def recurrent():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True)
            self.lstm_bare = nn.LSTM(4, 3, bias=False)
            self.gru = nn.GRU(4, 5, 2, bidirectional=True)
            self.gru_first = nn.GRU(4, 3, batch_first=True, bias=False)
            self.rnn = nn.RNN(4, 5, batch_first=True)
            self.rnn_relu = nn.RNN(4, 5, nonlinearity="relu")

        def forward(self, x, h, c):
            y, (h1, c1) = self.lstm(x, (h, c))
            z, _ = self.lstm_bare(x)
            g, h2 = self.gru(x)
            f, h3 = self.gru_first(x)
            r, h4 = self.rnn(x)
            s, h5 = self.rnn_relu(x)
            return y, h1, c1, z, g, h2, f, h3, r, h4, s, h5
    return Recurrent(), (rand(3, 6, 4), rand(4, 3, 5), rand(4, 3, 5))


@fixture
def recurrent_projected():
    class Projected(nn.Module):
        def __init__(self):
            super().__init__()
            self.two = nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True, proj_size=3)
            self.bare = nn.LSTM(4, 3, bias=False, proj_size=2)

        def forward(self, x, h, c):
            y, (h1, c1) = self.two(x, (h, c))
            z, (h2, c2) = self.bare(x)
            return y, h1, c1, z, h2, c2
    return Projected(), (rand(3, 5, 4), rand(4, 3, 3), rand(4, 3, 6))


@fixture
def recurrent_cells():
    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.gru = nn.LSTMCell(4, 5), nn.GRUCell(4, 5)
            self.tanh, self.relu = nn.RNNCell(4, 5), nn.RNNCell(4, 5, bias=False, nonlinearity="relu")
            self.plain = nn.LSTMCell(4, 5, bias=False)

        def forward(self, x, h, c):
            return (*self.lstm(x, (h, c)), self.gru(x, h), self.tanh(x, h), self.relu(x, h), *self.plain(x, (h, c)),
                    self.gru(x[0], h[0]), self.lstm(x)[0])
    return Cells(), (rand(3, 4), rand(3, 5), rand(3, 5))
