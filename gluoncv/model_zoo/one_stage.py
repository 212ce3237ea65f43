"""What detectors of one stage share."""

from gluon.block import HybridBlock


class OneStageDetector(HybridBlock):
    """A network that predicts boxes from its maps at once, and suppresses those that overlap a surer one."""

    def set_nms(self, nms_thresh=0.45, nms_topk=400, post_nms=100):
        """Overlap above which the lesser of two boxes of a class is dropped, boxes that compete,
        and boxes that are given.

        nms_thresh not between 0 and 1: all boxes are given. nms_topk -1: all compete. post_nms 0 or less: all are
        given.
        """
        self._clear_cached_op()
        self.nms_thresh, self.nms_topk, self.post_nms = nms_thresh, nms_topk, post_nms
