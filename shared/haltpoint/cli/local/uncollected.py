"""The first import of the fork server: imports leave no garbage, and a tenth of their time is the
search for it. Each child collects again.
"""

import gc

gc.disable()
