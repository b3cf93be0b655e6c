import os

from fake import Peer as Fake
from fake import Session


class Dying(Session):
    def run(self):
        super().run()
        if self.runs > 3:
            print("the last words", flush=True)
            os._exit(7)


class Peer(Fake):
    def session(self, inputs):
        return Dying(inputs)
