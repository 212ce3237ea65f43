"""Pictures of persons with their numbers, for re-identification (Zheng et al., 2015)."""

from core import image
from gluon.data.dataset import Dataset

__all__ = ["ImageTxtDataset"]


class ImageTxtDataset(Dataset):
    """(picture, number) of a list of (file, number). flag: 1 for colour, 0 for grey. transform: of the picture."""

    def __init__(self, items, flag=1, transform=None):
        self.items, self._flag, self._transform = items, flag, transform

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        path, label = self.items[idx]
        img = image.imread(path, self._flag)
        return (img if self._transform is None else self._transform(img)), label
