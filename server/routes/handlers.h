/* handlers -- the functions that the rows of the table name (private to routes).
 *
 * One file for each family; each function answers one route. */
#pragma once

#include "server/routes/routes.h"

/* health.c */
route_handle health_live, health_ready;

/* about.c: the server describes itself */
route_handle about_info, about_metrics, about_limits, about_dtypes, about_api;

/* pages.c: for people */
route_handle page_home, page_docs, page_problem, page_style, page_script;

/* login.c: browsers come and go */
route_handle login_handle, logout_handle;

/* eval.c: programs and graphs are computed */
route_open eval_open, run_open;
route_handle eval_handle, run_handle, eval_check, run_check;

/* graphs.c, graph_view.c: stored graphs */
route_open graph_open, notebook_open;
route_handle notebook_put, notebook_get, notebook_delete, notebooks_list;
route_handle graph_put, graph_get, graph_delete, graphs_list;

/* graph_grad.c: graphs of gradients */
route_open grad_open;
route_handle grad_handle;

/* jobs.c, job_events.c: requests that are answered later */
route_handle job_get, job_delete, job_result, job_events, jobs_list_all;

/* variables.c, variable_meta.c, variable_attributes.c: named tensors */
route_open variable_open, variable_put_open, attributes_open;
route_handle variable_get, variable_put, variable_delete, variable_meta, variables_list,
    attributes_get, attributes_put;

/* variable_change.c: parts of them, and more of them */
route_handle variable_patch, variable_append;

/* variable_attach.c: arrays in files that are not ours */
route_open attach_open;
route_handle variable_attach;

/* variables_bulk.c: several at once */
route_open bulk_open;
route_handle variables_put;

/* variable_meta.c: older versions of them */
route_handle variable_versions;

/* preview.c: what they look like */
route_handle variable_preview;

/* ops.c: which operations there are */
route_handle ops_list, ops_one;
