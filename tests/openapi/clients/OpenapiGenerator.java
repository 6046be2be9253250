import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.ContentsApi;
import org.openapitools.client.api.IdentityApi;
import org.openapitools.client.api.SearchApi;
import org.openapitools.client.model.Content;
import org.openapitools.client.model.ContentItem;
import org.openapitools.client.model.PostSearchRequest;
import org.openapitools.client.model.SearchEnvelope;
import org.openapitools.client.model.SourceReport;

/** A client of OpenAPI Generator: stores an item, then finds it. */
public class OpenapiGenerator {
    public static void main(String[] arguments) throws Exception {
        var client = new ApiClient();
        client.updateBaseUri(System.getenv("BASE"));
        var form = IdentityApi.APIIssueTokenRequest.newBuilder()
            .grantType("client_credentials")
            .clientId(System.getenv("CLIENT_ID"))
            .clientSecret(System.getenv("CLIENT_SECRET"));
        String token = new IdentityApi(client).issueToken(form.build()).getAccessToken();
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));

        var content = new Content().id("n1").title("Harbour dues").displayTime(1704067200000L);
        var put = ContentsApi.APIPutContentsRequest.newBuilder().moduleCode("article").content(List.of(content));
        var written = new ContentsApi(client).putContentsWithHttpInfo(put.build());
        if (!written.getData().getData().isEmpty()) {
            throw new IllegalStateException(written.getData().toString());
        }
        long after = Long.parseLong(written.getHeaders().get("x-trawl-position").get(0));

        var search = new SearchApi(client);
        var get = SearchApi.APIGetSearchRequest.newBuilder().keyword("harbour").moduleId("article").limit(5).after(after);
        SearchEnvelope found = search.getSearch(get.build());
        var body = new PostSearchRequest().keyword("harbour").moduleId("article");
        SearchEnvelope posted = search.postSearch(SearchApi.APIPostSearchRequest.newBuilder().postSearchRequest(body).build());
        ContentItem item = found.getData().get(0);
        SourceReport report = posted.getSources().get(0);
        System.out.printf(
            "[\"%s\", \"%s\", \"%s\", %d, \"%s\", %d]%n",
            item.getId(), item.getTitle(), item.getSource(), item.getDisplayTime(), report.getStatus(), posted.getTotal());
    }
}
