from .collective_page import CollectivePage as CollectivePage
from .design_page import Design as Design
from .design_page import DesignPage as DesignPage
from .lessons import lesson_names as lesson_names
from .lessons import lesson_network as lesson_network
from .page import LivePage as LivePage
from .pair import LivePair as LivePair
