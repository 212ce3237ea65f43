"""Record files."""

from gluoncv.data.recordio.detection import RecordFileDetection
