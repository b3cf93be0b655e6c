import numpy as np
from fake import Peer as Fake
from fake import Session


class Wrong(Session):
    def outputs(self):
        return [np.array(value) + 1 for value in self.results]


class Peer(Fake):
    def session(self, inputs):
        return Wrong(inputs)
