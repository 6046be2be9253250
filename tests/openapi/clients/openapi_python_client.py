"""A client of openapi-python-client: stores an item, then finds it."""

import json
import os

from api import AuthenticatedClient, Client
from api.api.contents import put_contents
from api.api.identity import issue_token
from api.api.search import get_search, post_search
from api.models import Content, ContentItem, PostSearchBody, SearchEnvelope, SourceReport, TokenAnswer, TokenRequest

base = os.environ["BASE"]
form = TokenRequest(
    grant_type="client_credentials", client_id=os.environ["CLIENT_ID"], client_secret=os.environ["CLIENT_SECRET"]
)
token = issue_token.sync(client=Client(base), body=form)
assert isinstance(token, TokenAnswer), token
client = AuthenticatedClient(base, token.access_token)

content = Content(id="n1", title="Harbour dues", display_time=1704067200000)
written = put_contents.sync_detailed("article", client=client, body=[content])
assert written.status_code == 200 and written.parsed.data == [], written
after = int(written.headers["x-trawl-position"])

found = get_search.sync(client=client, keyword="harbour", module_id="article", limit=5, after=after)
posted = post_search.sync(client=client, body=PostSearchBody(keyword="harbour", module_id="article"))
assert isinstance(found, SearchEnvelope) and isinstance(posted, SearchEnvelope), (found, posted)
item, report = found.data[0], posted.sources[0]
assert isinstance(item, ContentItem) and isinstance(report, SourceReport)
print(json.dumps([item.id, item.title, item.source, item.display_time, report.status.value, posted.total]))
